// The exporters of the SDK for Go. README.md beside this folder says how it is called.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploggrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlplog/otlploghttp"
	"go.opentelemetry.io/otel/log"
	sdk "go.opentelemetry.io/otel/sdk/log"
)

var (
	transport, address, pipeline, sender = os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	exporters, exports, records          = number(5), number(6), number(7)
	pause, timeout                       = milliseconds(8), milliseconds(9)
	stopping                             atomic.Bool
	output                               sync.Mutex
)

func number(argument int) int {
	value, err := strconv.Atoi(os.Args[argument])
	if err != nil {
		panic(err)
	}
	return value
}

func milliseconds(argument int) time.Duration {
	return time.Duration(number(argument)) * time.Millisecond
}

// kept keeps the records that a logger emits.
type kept struct{ records []sdk.Record }

func (k *kept) OnEmit(_ context.Context, record *sdk.Record) error {
	k.records = append(k.records, record.Clone())
	return nil
}
func (k *kept) Enabled(context.Context, sdk.EnabledParameters) bool { return true }
func (k *kept) Shutdown(context.Context) error                      { return nil }
func (k *kept) ForceFlush(context.Context) error                    { return nil }

func exporter() (sdk.Exporter, error) {
	headers := map[string]string{"x-sluice-pipeline-id": pipeline}
	if transport == "http" {
		return otlploghttp.New(context.Background(), otlploghttp.WithEndpoint(address), otlploghttp.WithInsecure(),
			otlploghttp.WithHeaders(headers), otlploghttp.WithTimeout(timeout))
	}
	return otlploggrpc.New(context.Background(), otlploggrpc.WithEndpoint(address), otlploggrpc.WithInsecure(),
		otlploggrpc.WithHeaders(headers), otlploggrpc.WithTimeout(timeout))
}

func batch(export string) []sdk.Record {
	keeper := &kept{}
	logger := sdk.NewLoggerProvider(sdk.WithProcessor(keeper)).Logger("senders")
	for range records {
		var record log.Record
		record.SetTimestamp(time.Now())
		record.SetSeverity(log.SeverityInfo)
		record.SetBody(attribute.StringValue("a record"))
		record.AddAttributes(attribute.String("sender", sender), attribute.String("export", export),
			attribute.String("text", strings.Repeat("x", 400)))
		logger.Emit(context.Background(), record)
	}
	return keeper.records
}

func say(export, result string) {
	output.Lock()
	defer output.Unlock()
	fmt.Println(export, strings.ReplaceAll(result, "\n", " "))
}

func run(number int, done *sync.WaitGroup) {
	defer done.Done()
	sends, err := exporter()
	if err != nil {
		panic(err)
	}
	for count := 0; !stopping.Load() && (exports == 0 || count < exports); count++ {
		export := fmt.Sprintf("%d-%d", number, count)
		if err := sends.Export(context.Background(), batch(export)); err != nil {
			say(export, "refused "+err.Error())
		} else {
			say(export, "accepted")
		}
		time.Sleep(pause)
	}
}

func main() {
	if exports == 0 {
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			stopping.Store(true)
		}()
	}
	var done sync.WaitGroup
	for number := range exporters {
		done.Add(1)
		go run(number, &done)
	}
	done.Wait()
}
