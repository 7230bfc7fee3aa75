# nix-build -E 'with import <nixpkgs> { }; callPackage ./clformer.nix { }'
{
  lib,
  stdenv,
  fetchurl,
  cmake,
  ninja,
  pkg-config,
  @DEPENDENCIES@,
}:

stdenv.mkDerivation {
  pname = "clformer";
  version = "@VERSION@";

  src = fetchurl {
    url = "@URL@";
    sha256 = "@SHA256@";
  };

  nativeBuildInputs = [
    cmake
    ninja
    pkg-config
  ];
  buildInputs = [
    @DEPENDENCIES@
  ];
  cmakeFlags = lib.splitString " " "-DBUILD_SHARED_LIBS=ON @OPTIONS@";

  meta = {
    description = "Run and train encoder-decoder Transformers on any OpenCL device";
    license = lib.licenses.mit;
    platforms = lib.platforms.linux;
    mainProgram = "clformer";
  };
}
