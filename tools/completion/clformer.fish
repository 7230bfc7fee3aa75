# Fish completion of clformer: verbs and flags come from the command's own --help.
function __clformer_verbs
    clformer --help 2>/dev/null | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end
function __clformer_flags
    clformer (commandline -opc)[2] --help 2>/dev/null | grep -o '^  .\{4\}--[a-z0-9-]*' | grep -o -e '--[a-z0-9-]*'
end
complete -c clformer -n __fish_use_subcommand -f -a '(__clformer_verbs)'
complete -c clformer -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -f -a '(__clformer_flags)'
