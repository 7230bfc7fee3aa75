class Clformer < Formula
  desc "Run and train encoder-decoder Transformers on any OpenCL device"
  homepage "@URL@"
  url "@URL@"
  sha256 "@SHA256@"
  license "@LICENSE@"

  depends_on "cmake" => :build
  depends_on "ninja" => :build
  depends_on "pkgconf" => :build
  depends_on "pocl" => :test
  depends_on "@DEPENDENCIES@"
  depends_on :linux

  def install
    system "cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DBUILD_SHARED_LIBS=ON",
           *%w[@OPTIONS@], *std_cmake_args
    system "cmake", "--build", "build"
    system "cmake", "--install", "build"
  end

  test do
    model = share/"clformer/fr-en-small"
    assert_equal "I'm a student.\n", pipe_output("#{bin}/clformer translate -m #{model}", "Je suis étudiant\n", 0)
  end
end
