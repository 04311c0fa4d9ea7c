//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package host

import (
	"errors"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the process has ended, without reaping it.
func awaitExit(pid int) {
	queue, err := unix.Kqueue()
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(queue) }()
	change := make([]unix.Kevent_t, 1)
	unix.SetKevent(&change[0], pid, unix.EVFILT_PROC, unix.EV_ADD|unix.EV_ONESHOT)
	change[0].Fflags = unix.NOTE_EXIT
	events := make([]unix.Kevent_t, 1)
	for {
		// A process that has ended already cannot be watched: also an end.
		_, err := unix.Kevent(queue, change, events, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
