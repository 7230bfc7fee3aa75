# Fish completion for clformer. Verbs, flags and choices are read from the output of --help.
function __clformer_verbs
    clformer --help 2>/dev/null | sed -n '/^Examples:/q; s/^  \([a-z]*\)  *\(.*\)/\1\t\2/p'
end
function __clformer_flags
    clformer (commandline -opc)[2] --help 2>/dev/null | grep -o '^  .\{4\}--[a-z0-9-]*' | grep -o -e '--[a-z0-9-]*'
end
# Prints the completions of the value of the preceding flag. In "--gemm auto|native|clblast", lower-case words are choices;
# FILE and FOLDER are completed to paths; there are no completions for N and other placeholders. In the help, a line that ends
# in "|" continues on the next line.
function __clformer_values
    set -l words (commandline -opc)
    switch $words[-1]
        case -d --device
            printf '%s\n' gpu cpu
            contains -- $words[2] translate score bench; and printf '%s\n' 'gpu*' all
            clformer devices 2>/dev/null | sed -n 's/^\([0-9][0-9]*\)  \(.*\)/\1\t\2/p'
        case -m --model -o --output
            __fish_complete_path (commandline -ct)
        case '--*'
            set -l value (clformer $words[2] --help 2>/dev/null | sed -n -e ':join' -e '/|$/{N;s/\n *//;b join' -e '}' \
                -e "s/^  .\{4\}$words[-1] \([^ ]*\).*/\1/p" | head -n 1)
            switch "$value"
                case FOLDER
                    __fish_complete_directories (commandline -ct)
                case 'FILE*' '*|*'
                    string match -q 'FILE*' -- $value; and __fish_complete_path (commandline -ct)
                    string split '|' -- $value | string match -r '^[a-z0-9-]+$'
            end
    end
end
# Succeeds if the preceding word is a flag that takes a value.
function __clformer_needs_value
    set -l words (commandline -opc)
    test (count $words) -ge 3; or return 1
    switch $words[-1]
        case -d -m -o
            return 0
        case '--*'
            clformer $words[2] --help 2>/dev/null | grep -q "^  .\{4\}$words[-1] [^ ]"
        case '*'
            return 1
    end
end
complete -c clformer -n '__fish_use_subcommand; or test (commandline -opc)[-1] = help' -f -a '(__clformer_verbs)'
complete -c clformer -n __clformer_needs_value -f -a '(__clformer_values)'
complete -c clformer -n 'not __fish_use_subcommand; and not __clformer_needs_value; and string match -q -- "-*" (commandline -ct)' -f -a '(__clformer_flags)'
