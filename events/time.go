package events

import (
	"fmt"
	"time"
)

// Time is a moment as integer nanoseconds since 1970 UTC: an integer on the
// wire, RFC 3339 with nanoseconds in JSON. Zero means unknown, never "now".
type Time int64

// At returns t as a Time; a zero t gives the zero Time.
func At(t time.Time) Time {
	if t.IsZero() {
		return 0
	}
	return Time(t.UnixNano())
}

// Std returns t as a time.Time in UTC; zero gives the zero time.
func (t Time) Std() time.Time {
	if t == 0 {
		return time.Time{}
	}
	return time.Unix(0, int64(t)).UTC()
}

// Add returns t moved by d.
func (t Time) Add(d time.Duration) Time { return t + Time(d) }

// Sub returns how long t is after u.
func (t Time) Sub(u Time) time.Duration { return time.Duration(t - u) }

// String returns the JSON form of t without quotes, "unknown" for zero.
func (t Time) String() string {
	if t == 0 {
		return "unknown"
	}
	return t.Std().Format(time.RFC3339Nano)
}

// MarshalText implements encoding.TextMarshaler.
func (t Time) MarshalText() ([]byte, error) {
	if t == 0 {
		return nil, nil
	}
	return []byte(t.Std().Format(time.RFC3339Nano)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (t *Time) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*t = 0
		return nil
	}
	parsed, err := time.Parse(time.RFC3339Nano, string(text))
	if err != nil {
		return fmt.Errorf("events: time %.40q: %w", text, err)
	}
	*t = At(parsed)
	return nil
}
