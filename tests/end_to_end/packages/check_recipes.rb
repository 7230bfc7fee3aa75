# Checks the files of make_recipes, and the lists of packages elsewhere, against dependencies.json:
# ruby check_recipes.rb SOURCE FOLDER ARCHIVE URL
require "digest"
require "json"
require "yaml"

SOURCE, FOLDER, ARCHIVE, URL = ARGV
SHA256 = Digest::SHA256.file(ARCHIVE).hexdigest
TABLE = JSON.parse(File.read("#{SOURCE}/tools/package/dependencies.json"))
LEFT_OUT = %w[CLF_FFMPEG CLF_MPI].freeze

def equal(what, found, wanted)
  abort "#{what}: #{found.inspect}, not #{wanted.inspect}" if found != wanted
end

def packages(manager)
  TABLE.reject { |row| LEFT_OUT.include?(row["option"]) }.filter_map { |row| row[manager] }.sort
end

# Every option without a library is turned off.
def check_options(manager, text)
  off = TABLE.reject { |row| row.key?(manager) }.filter_map { |row| row["option"] } + LEFT_OUT + ["CLF_TESTS"]
  equal("options for #{manager}", text.scan(/-D(CLF_\w+)=OFF/).flatten.sort, off.uniq.sort)
end

# Homebrew evaluates a formula like this class.
class Formula
  class << self
    attr_reader :values, :dependencies

    %i[desc homepage url sha256 license].each do |name|
      define_method(name) { |value| (@values ||= {})[name] = value }
    end

    def depends_on(value)
      (@dependencies ||= []) << value
    end

    def test(&block)
      @values[:test] = block
    end
  end
end
load "#{FOLDER}/clformer.rb"
equal("url", Clformer.values[:url], URL)
equal("sha256", Clformer.values[:sha256], SHA256)
equal("depends_on", Clformer.dependencies.grep(String).sort, packages("homebrew"))
equal("depends_on :linux", Clformer.dependencies.include?(:linux), true)
abort "the formula has no install or test" unless Clformer.method_defined?(:install) && Clformer.values[:test]
check_options("homebrew", File.read("#{FOLDER}/clformer.rb"))

# conda-build renders the expressions of Jinja and then reads the YAML.
text = File.read("#{FOLDER}/meta.yaml")
recipe = YAML.safe_load(text.gsub(/\{\{.*?\}\}/) { |expression| expression.gsub(/[{}" ]/, "") })
equal("package", recipe["package"], { "name" => "clformer", "version" => File.basename(ARCHIVE)[/-(.*)\.tar/, 1] })
equal("source", recipe["source"], { "url" => URL, "sha256" => SHA256 })
equal("host", recipe["requirements"]["host"].sort, packages("conda"))
check_options("conda", text)

# callPackage passes each argument, and each is used.
text = File.read("#{FOLDER}/clformer.nix")
arguments = text[/^\{\n(.*?)^\}:/m, 1].scan(/[\w-]+/)
equal("arguments", arguments.sort, (packages("nix") + %w[lib stdenv fetchurl cmake ninja pkg-config]).sort)
equal("buildInputs", text[/buildInputs = \[(.*?)\]/m, 1].split, packages("nix"))
equal("sha256", text[/sha256 = "(.*)"/, 1], SHA256)
check_options("nix", text)

abort "a placeholder remains" if Dir["#{FOLDER}/*"].any? { |file| File.read(file).match?(/@[A-Z0-9]+@/) }

# Lists that dependencies.json cannot fill.
lists = { "tools/package/debian/control" => TABLE, "include/clformer/README.md" => TABLE,
          "tools/setup.sh" => TABLE.reject { |row| LEFT_OUT.include?(row["option"]) } }
lists.each do |file, rows|
  text = File.read("#{SOURCE}/#{file}")
  missing = rows.filter_map { |row| row["debian"] }.reject { |name| text.match?(/(?<![\w-])#{Regexp.escape(name)}(?![\w-])/) }
  equal("#{file}: missing packages", missing, [])
end
