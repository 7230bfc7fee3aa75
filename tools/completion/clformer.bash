# Bash completion for clformer. Verbs, flags and choices are read from the output of --help.
_clformer() {
    local command=${COMP_WORDS[0]} verb=${COMP_WORDS[1]} current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD - 1]} choices
    COMPREPLY=()
    if ((COMP_CWORD == 1)) || [[ $verb == help ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$command" --help 2>/dev/null |
            sed -n '/^Examples:/q; s/^  \([a-z]*\) .*/\1/p') --help --version" -- "$current")
        return
    fi
    case $previous in
    -m | --model | -o | --output | --work | --html | --recipe | --log)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        return
        ;;
    -d | --device)
        local several=
        [[ $verb == translate || $verb == score || $verb == bench ]] && several='gpu* all'
        mapfile -t COMPREPLY < <(compgen -W "gpu cpu $several $("$command" devices 2>/dev/null |
            sed -n 's/^\([0-9]*\)  .*/\1/p')" -- "$current")
        return
        ;;
    --*)
        # "--gemm auto|native|clblast": lower-case words are choices, others are placeholders; a line that
        # ends in "|" continues on the next line
        choices=$("$command" "$verb" --help 2>/dev/null | sed -n -e ':join' -e '/|$/{N;s/\n *//;b join' -e '}' \
            -e "s/^  .\{4\}$previous \([^ ]*\).*/\1/p" | head -n 1)
        if [[ $choices == *[a-z0-9]* ]]; then
            mapfile -t COMPREPLY < <(compgen -W "$(tr '|' '\n' <<<"$choices" | grep '^[a-z0-9-]*$')" -- "$current")
            [[ $choices != FILE* ]] || mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- "$current")
            return
        fi
        [[ $choices =~ ^[A-Z] && $choices != F* ]] && return # FILE and FOLDER are completed below
        ;;
    esac
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$command" "$verb" --help 2>/dev/null |
            grep -o '^  .\{4\}--[a-z0-9-]*' | grep -o -e '--[a-z0-9-]*')" -- "$current")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
}
complete -o filenames -F _clformer clformer
