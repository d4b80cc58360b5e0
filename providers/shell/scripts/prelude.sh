# What every script begins with. Set before: kw_n (the nonce).
# Names begin with kw_, so that they are nobody else's.

# kw_say WORD...: a marker line of the answer.
kw_say() { printf '\nkubewright %s %s\n' "$kw_n" "$*"; }
