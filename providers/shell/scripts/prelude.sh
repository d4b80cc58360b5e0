# The beginning of every script. Set before: kw_n (the nonce). Names begin with kw_, so that
# they do not collide with others.

# kw_say WORD...: a marker line of the answer.
kw_say() { printf '\nkubewright %s %s\n' "$kw_n" "$*"; }
