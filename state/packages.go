package state

// PackageQuery is a query to the host's package manager, apt or dnf. It reads the package
// database and changes nothing, not even the lists of available packages.
type PackageQuery struct {
	// Names are the packages to look for.
	Names []string
	// Versioned are those of Names that should have the version Version (1.36.3). If one does
	// not, the repository is asked whether it has that version.
	Versioned []string
	Version   string
	// Apt and Dnf are the addresses of the repository in either form.
	Apt, Dnf string
}

// PackageReport is the answer of a host's package manager.
type PackageReport struct {
	// Manager is apt or dnf; empty where there is neither.
	Manager string
	// Installed holds the requested packages that are installed, even partially.
	Installed map[string]Package
	// Broken are partially installed packages of the whole host, whose installation was
	// interrupted, as NAME (STATUS).
	Broken []string
	// Locked names the program that holds the package manager's lock now.
	Locked string
	// Unreachable says why the repository cannot be read; Missing are the versioned packages that
	// it does not have. Both are empty if the repository was not asked, or if the host has no
	// program to ask it.
	Unreachable string
	Missing     []string
}

// Package is a package on a host.
type Package struct {
	// Version is the version of the software, without epoch and revision: 1.36.3 of 1.36.3-1.1.
	Version string
	// Status is installed, or a partial state in dpkg's words: half-configured, unpacked …
	Status string
	// Held reports whether upgrades skip it (apt-mark hold). dnf has no such mark.
	Held bool
}
