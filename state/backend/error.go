package backend

// Error is a failure of a backend.
type Error struct {
	// Op is the failed operation: "read state", "write state", "lock state" …
	Op string
	// Place is the backend's String.
	Place string
	// Kind is one of the Err values, or nil.
	Kind error
	// Problem says what is wrong and why, Remedy what to do about it.
	Problem string
	Remedy  string
	// Err is the cause, or nil.
	Err error
}

// Error returns all of it in one line.
func (e *Error) Error() string {
	text := "cannot " + e.Op + " at " + e.Place
	if e.Problem != "" {
		text += ": " + e.Problem
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	if e.Remedy != "" {
		text += "; " + e.Remedy
	}
	return text
}

// Unwrap makes the kind and the cause visible to errors.Is and errors.As.
func (e *Error) Unwrap() []error {
	var out []error
	for _, err := range []error{e.Kind, e.Err} {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}

// Moved is the error of a write over a version that was not read.
func Moved(place string) error {
	return &Error{
		Op: "write state", Place: place, Kind: ErrMoved, Problem: "it was written since this run read it",
		Remedy: "nothing was written: plan again, which reads it again",
	}
}

// Lost is the error of a run whose lock was ended or taken; holder is nil when the lock is free
// now.
func Lost(place string, holder *LockInfo) error {
	problem := "this run's lock was ended (kubewright force-unlock)"
	if holder != nil {
		problem += ", and by now " + holder.String() + " holds it"
	}
	return &Error{Op: "keep the lock", Place: place, Kind: ErrLost, Problem: problem, Remedy: "this run changes nothing more"}
}
