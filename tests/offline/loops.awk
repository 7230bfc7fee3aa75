# From clang's assembly for Arm: a line "kernel fmla/sdot/smull/spills" of what lies in the innermost loops of each kernel,
# counted once each: products, and in loops that have any the loads and stores of registers that did not suffice.
function print_kernel() {
    if (name ~ /_cpu$/) {
        print name, fmla + 0 "/" sdot + 0 "/" smull + 0 "/" spills + 0
    }
    fmla = sdot = smull = spills = 0
}

/^[A-Za-z_][A-Za-z_0-9]*:/ { print_kernel(); name = $1; sub(/:.*/, "", name); header = "" }
/^\.L[A-Za-z_0-9]*:/ { label = $1; sub(/:.*/, "", label) }
/This Inner Loop Header/ { header = label; f = d = m = s = 0 } # on its label's line, or on one after it
header != "" && ($1 == "fmla" || $1 == "fmls") { f++ }
header != "" && $1 == "sdot" { d++ }
header != "" && ($1 == "smull" || $1 == "smull2") { m++ }
header != "" && /Folded (Spill|Reload)/ { s++ }
header != "" && /^\t(b|cb|tb)/ && $NF == header {
    fmla += f
    sdot += d
    smull += m
    spills += f + d + m > 0 ? s : 0
    header = ""
}
END { print_kernel() }
