package state

// PackageQuery says what to ask the host's package manager, apt or dnf. It is
// asked in words of its data base and changes nothing, not even its lists of
// what repositories have.
type PackageQuery struct {
	// Names are the packages to look for.
	Names []string
	// Versioned are those of them that are wanted in Version (1.36.3). Where one is
	// not there so, the repository is asked whether it has it.
	Versioned []string
	Version   string
	// Apt and Dnf are the repository's addresses in either form.
	Apt, Dnf string
}

// PackageReport is what a host's package manager knows.
type PackageReport struct {
	// Manager is apt or dnf; empty where there is neither.
	Manager string
	// Installed has each package asked for that is there, be it in part.
	Installed map[string]Package
	// Broken are packages of the whole host that are there in part: their
	// installation was cut short. As NAME (STATUS).
	Broken []string
	// Locked names the program that works with the package manager now.
	Locked string
	// Unreachable says why the repository cannot be read; Missing are the versioned
	// packages that it does not have. Both are empty where nobody asked, or where
	// the host has no program to ask with.
	Unreachable string
	Missing     []string
}

// Package is a package on a host.
type Package struct {
	// Version is that of the software, without epoch and revision: 1.36.3 of 1.36.3-1.1.
	Version string
	// Status is installed, or how far it got, in dpkg's words: half-configured, unpacked …
	Status string
	// Held reports whether upgrades leave it alone (apt-mark hold). dnf has no such mark.
	Held bool
}
