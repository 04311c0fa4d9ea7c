package process_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// helperArgument makes the test binary the program that the tests run.
const helperArgument = "run-as-helper"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == helperArgument {
		// Not os.Exit, in which the race detector waits for a second.
		syscall.Exit(helper(os.Args[2], os.Args[3:]))
	}
	goleak.VerifyTestMain(m)
}

// helpers are the programs by name.
var helpers = map[string]func(arguments []string) int{
	"print": func(arguments []string) int { fmt.Print(strings.Join(arguments, "\n")); return 0 },
	"vector": func(arguments []string) int {
		directory, err := os.Getwd()
		if err != nil {
			return 99
		}
		environment := os.Environ()
		slices.Sort(environment)
		return encode(map[string]any{"arguments": arguments, "directory": directory, "environment": environment})
	},
	"exit": func(arguments []string) int {
		code, err := strconv.Atoi(arguments[0])
		if err != nil {
			return 99
		}
		fmt.Fprintln(os.Stderr, "ending as told")
		return code
	},
	"flood": func([]string) int {
		line := strings.Repeat("x", 1<<10) + "\n"
		for range 1 << 16 {
			if _, err := os.Stdout.WriteString(line); err != nil {
				return 1
			}
		}
		return 0
	},
	"flood-stderr": func([]string) int {
		line := strings.Repeat("x", 1<<10) + "\n"
		for range 1 << 16 {
			if _, err := os.Stderr.WriteString(line); err != nil {
				return 1
			}
		}
		return 0
	},
	"hang": func([]string) int { time.Sleep(time.Hour); return 0 },
	// family writes its own and a child's process number to a file; both
	// ignore the request to end.
	"family": func(arguments []string) int {
		signal.Ignore(syscall.SIGTERM)
		return start(arguments[0], true, false)
	},
	// orphan leaves a child behind that has its output.
	"orphan": func(arguments []string) int { return start(arguments[0], false, false) },
	// runaway leaves a child behind that has its output and left its group.
	"runaway": func(arguments []string) int { return start(arguments[0], false, true) },
	"touch": func(arguments []string) int {
		if err := os.WriteFile(arguments[0], []byte("changed"), 0o600); err != nil {
			return 1
		}
		return 0
	},
}

// helper runs one program.
func helper(name string, arguments []string) int {
	program, ok := helpers[name]
	if !ok {
		return 98
	}
	return program(arguments)
}

// encode prints JSON.
func encode(value any) int {
	if err := json.NewEncoder(os.Stdout).Encode(value); err != nil {
		return 1
	}
	return 0
}

// start starts a child that hangs, outliving everything but its group, and
// notes both process numbers in a file.
func start(file string, stay, leave bool) int {
	executable, err := os.Executable()
	if err != nil {
		return 99
	}
	child := exec.Command(executable, helperArgument, "hang")
	child.Stdout = os.Stdout
	child.SysProcAttr = &syscall.SysProcAttr{Setsid: leave}
	if err := child.Start(); err != nil {
		return 99
	}
	note := fmt.Sprintf("%d %d", os.Getpid(), child.Process.Pid)
	if err := os.WriteFile(file+".part", []byte(note), 0o600); err != nil {
		return 99
	}
	if err := os.Rename(file+".part", file); err != nil {
		return 99
	}
	if stay {
		time.Sleep(time.Hour)
	}
	return 0
}
