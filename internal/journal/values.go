package journal

import (
	"fmt"
	"strings"

	"example.org/mandate/events"
)

// maxKeyTokens bounds the tokens of a key.
const maxKeyTokens = 8

// CheckKey reports, as [ErrRefused], why a bucket or a key cannot be used:
// keys are one to eight tokens joined by dots, buckets are those named here.
func CheckKey(bucket Bucket, key string) error {
	switch bucket {
	case BucketKeys, BucketSnapshots, BucketViews:
	default:
		return fmt.Errorf("%w: bucket %.80q", ErrRefused, bucket)
	}
	tokens := strings.Split(key, ".")
	if len(tokens) > maxKeyTokens {
		return fmt.Errorf("%w: key %.200q has more than %d tokens", ErrRefused, key, maxKeyTokens)
	}
	for _, token := range tokens {
		if !events.ValidToken(token) {
			return fmt.Errorf("%w: key %.200q", ErrRefused, key)
		}
	}
	return nil
}
