package machine

import (
	"cmp"
	"slices"
)

// setFlag stores a flag only if it differs from its default.
func setFlag(flags *map[string]bool, key string, value, usual bool) {
	if value == usual {
		delete(*flags, key)
		return
	}
	if *flags == nil {
		*flags = map[string]bool{}
	}
	(*flags)[key] = value
}

// SetText stores a text only if it differs from its default.
func SetText(texts *map[string]string, key, value, usual string) {
	if value == usual {
		delete(*texts, key)
		return
	}
	if *texts == nil {
		*texts = map[string]string{}
	}
	(*texts)[key] = value
}

// Insert adds to a sorted set.
func Insert[T cmp.Ordered](set *[]T, x T) {
	if i, found := slices.BinarySearch(*set, x); !found {
		*set = slices.Insert(*set, i, x)
	}
}
