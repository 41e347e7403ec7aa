# Approvals that nobody can give, and persons and groups that do not exist.
$ printf 'set -- "$@"; mkdir -p .pointsman/conf.d; printf "%%b" "$*" >.pointsman/conf.d/p.conf; pointsman config check >listed\n' >check
$ pointsman -q init && sh check '[approval "a"]\ncount = 1\n'
! configuration OK
$ pointsman doctor 2>/dev/null | grep '^[a-z]* *approval'
| ok   approval       the policies can be met, and their accounts and groups exist
# The only approver has no role, or is no account.
$ sh check '[approval "a"]\nrole = uid:65534\n'
! pointsman: conf.d/p.conf:2: policy 'a' can never be met: it needs 1 person, but none of those whom its role names can approve; uid:65534 lacks the role submitter ([access])
= 78
$ pointsman doctor 2>/dev/null | grep '^[a-z]* *approval'
| warn approval       conf.d/p.conf:2: policy 'a' can never be met: ...
$ sh check '[approval "a"]\nrole = uid:65534\n[access]\nviewer = nobody\n'
! pointsman: conf.d/p.conf:2: ...; uid:65534 lacks the role submitter ([access])
= 78
$ sh check '[approval "a"]\nrole = uid:65534\n[access]\nsubmitter = nobody\n'
! configuration OK
$ sh check '[approval "a"]\nrole = uid:65534\n[access]\noperator = *\n'
! configuration OK
$ sh check '[approval "a"]\nrole = uid:3999999999\n[access]\nsubmitter = *\n'
! pointsman: conf.d/p.conf:2: ...; uid:3999999999 is no account of this machine
= 78
# A person who comes over ssh needs a role too; one of several names is enough.
$ sh check '[approval "a"]\nrole = person:ann\n[person "ann"]\naccounts = nobody\n'
! pointsman: conf.d/p.conf:2: ...; uid:65534 lacks the role submitter ([access])
= 78
$ sh check '[approval "a"]\nrole = person:ann\n[person "ann"]\naccounts = nobody\n[access]\nsubmitter = person:ann\n'
! configuration OK
# A signer who is in no list cannot sign; nor can an account.
$ sh check '[approval "a"]\nrole = user:bob@example.org\n'
! pointsman: conf.d/p.conf:2: ...; user:bob@example.org has no key in the list of allowed signers
= 78
$ sh check '[approval "a"]\nrole = person:ann\nsigned = yes\n[person "ann"]\naccounts = nobody\n'
! pointsman: conf.d/p.conf:1: policy 'a' can never be met: count = 1, but its role names 0 people who can sign
= 78
$ sh check '[approval "a"]\nsigned = yes\n'
! pointsman: conf.d/p.conf:2: policy 'a' can never be met: signed = yes, but the list of allowed signers, 'allowed_signers', has nobody who can sign
= 78
# Two people are needed, and the names belong to one person.
$ sh check '[approval "a"]\ncount = 2\nrole = uid:65534, uid:1\n[access]\nsubmitter = nobody, daemon\n'
! configuration OK
$ sh check '[approval "a"]\ncount = 2\nrole = uid:65534, uid:1\n[access]\nsubmitter = nobody, daemon\n[person "w"]\naccounts = nobody, daemon\n'
! pointsman: conf.d/p.conf:3: policy 'a' can never be met: it needs 2 people, but only 1 of those whom its role names can approve; several of its names belong to one person
= 78
$ sh check '[approval "a"]\ncount = 2\nrole = uid:65534, person:nobody\n[access]\nsubmitter = nobody, person:nobody\n[person "nobody"]\nprincipals = n@example.org\n'
! pointsman: conf.d/p.conf:3: ...; several of its names belong to one person
= 78
# Operators are the owner, root, and those of [access].
$ sh check '[approval "a"]\ncount = 0\n'
! warning: policy 'a' asks for nothing: count = 0, and no ticket
! configuration OK, with warnings
$ sh check '[approval "a"]\ncount = 3\nrole = operator\n'
! pointsman: conf.d/p.conf:3: policy 'a' can never be met: it needs 3 people, ...
= 78
$ sh check '[approval "a"]\ncount = 3\nrole = operator\n[access]\noperator = nobody, daemon\nadmin = bin\n'
! configuration OK
$ sh check '[approval "a"]\ncount = 9\nrole = operator\n[access]\noperator = @daemon\n'
! configuration OK
# Policies that contradict each other, and persons that are listed twice.
$ sh check '[approval "a"]\nlate = yes\n[approval "b"]\nunapproved = refuse\n'
! pointsman: conf.d/p.conf:1: policies 'a' (late = yes) and 'b' (unapproved = refuse, conf.d/p.conf:3) apply to the same sets and contradict each other
= 78
$ sh check '[person "w"]\naccounts = 1\n[person "w"]\naccounts = 2\n'
! pointsman: conf.d/p.conf:3: person 'w' is defined twice; the first is at conf.d/p.conf:1
= 78
$ sh check '[person "w"]\naccounts = daemon\n[person "v"]\naccounts = 1\n'
! pointsman: conf.d/p.conf:4: account '1' of person 'v' is listed for person 'w' too (uid:1)
= 78
$ sh check '[person "w"]\nkeys = SHA256:0123456789012345678901234567890123456789012\n[person "v"]\nkeys = SHA256:0123456789012345678901234567890123456789012\n'
! pointsman: conf.d/p.conf:4: key 'SHA256:...' of person 'v' is listed for another person too
= 78
$ sh check '[person "w"]\naccounts = no-account-here\n'
! pointsman: conf.d/p.conf:2: person 'w': no user 'no-account-here' on this machine
= 78
$ sh check '[approval "a"]\nrole = @no-group-here\n'
! pointsman: conf.d/p.conf:2: role '@no-group-here': no group 'no-group-here' on this machine
= 78
