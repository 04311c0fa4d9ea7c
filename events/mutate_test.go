package events_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"example.org/mandate/events"
	"example.org/mandate/events/eventstest"
)

// heads are codes that begin something in msgpack: lengths, extensions,
// floats, wide integers.
var heads = []byte{
	0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 0xc8, 0xc9, 0xca, 0xcb, 0xcc,
	0xcd, 0xce, 0xcf, 0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd8, 0xd9, 0xda, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0xe0, 0xff, 0x00, 0x7f,
}

// mutate returns data with one to three random changes.
func mutate(r *rand.Rand, data []byte) []byte {
	out := slices.Clone(data)
	for range 1 + r.IntN(3) {
		if len(out) == 0 {
			return out
		}
		at := r.IntN(len(out))
		to := at + 1 + r.IntN(min(40, len(out)-at))
		switch r.IntN(8) {
		case 0:
			out[at] ^= 1 << r.IntN(8)
		case 1:
			out[at] = byte(r.Uint32())
		case 2:
			out[at] = heads[r.IntN(len(heads))]
		case 3:
			out = slices.Insert(out, at, heads[r.IntN(len(heads))])
		case 4:
			out = slices.Delete(out, at, to)
		case 5:
			out = out[:at]
		case 6:
			out = slices.Insert(out, at, slices.Clone(out[at:to])...)
		case 7:
			copy(out[at:], slices.Clone(out[r.IntN(len(out)):]))
		}
	}
	return out
}

// checkDecode fails unless bytes are refused with a known error or read as
// something that is written as exactly these bytes.
func checkDecode(tb testing.TB, record events.Record) (accepted bool) {
	tb.Helper()
	c, err := events.Decode(record)
	if err != nil {
		if !errors.Is(err, events.ErrMalformed) && !errors.Is(err, events.ErrVersion) && !errors.Is(err, events.ErrTooLarge) && !errors.Is(err, events.ErrSubject) {
			tb.Fatalf("an error of no kind: %v", err)
		}
		return false
	}
	again, err := events.Encode(&c)
	if err != nil {
		tb.Fatalf("%x was read and cannot be written: %v", record.Data, err)
	}
	if !bytes.Equal(again, record.Data) {
		tb.Fatalf("read and written again it differs\n got %x\nfrom %x", again, record.Data)
	}
	return true
}

func checkDecodePayload(tb testing.TB, name string, data []byte) (accepted bool) {
	tb.Helper()
	p, err := events.DecodePayload(name, data)
	if err != nil {
		if !errors.Is(err, events.ErrMalformed) && !errors.Is(err, events.ErrVersion) {
			tb.Fatalf("an error of no kind: %v", err)
		}
		return false
	}
	again, err := events.EncodePayload(p)
	if err != nil {
		tb.Fatalf("%x was read and cannot be written: %v", data, err)
	}
	if !bytes.Equal(again, data) {
		tb.Fatalf("%s: read and written again it differs\n got %x\nfrom %x", name, again, data)
	}
	return true
}

func TestMutatedBytes(t *testing.T) {
	each := 5000
	if testing.Short() {
		each = 300
	}
	r := rand.New(rand.NewPCG(20260102, 3))
	tried, accepted := 0, 0
	for _, name := range events.Types() {
		payload := eventstest.Payload(t, name)
		data, err := events.EncodePayload(payload)
		if err != nil {
			t.Fatal(err)
		}
		commit := eventstest.Commit(payload)
		commit.Sealed = []events.SealedBody{
			{Commitment: "sha256:00", Scope: "acme.run-1", Ciphertext: []byte("ciphertext")},
			{Commitment: "sha256:01", Scope: "acme.run-1", Chunks: []events.Digest{"sha256:02"}},
		}
		record := eventstest.Record(t, commit)
		whole := record.Data
		for i := range each {
			tried++
			var ok bool
			if i%5 == 0 {
				record.Data = mutate(r, whole)
				ok = checkDecode(t, record)
			} else {
				ok = checkDecodePayload(t, name, mutate(r, data))
			}
			if ok {
				accepted++
			}
		}
	}
	t.Logf("%d mutations of %d types, %d of them read and written again to the same bytes, the rest refused", tried, len(events.Types()), accepted)
	if accepted == 0 || accepted == tried {
		t.Errorf("%d of %d accepted: the mutations do not reach the decoder", accepted, tried)
	}
}
