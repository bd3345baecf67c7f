"""The exporters of the SDK for Python. README.md says how it is called."""

import sys
import threading
import time

from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import LogRecordExportResult

transport, address, pipeline, sender = sys.argv[1:5]
exporters, exports, records, pause, timeout = map(int, sys.argv[5:])
stopping = threading.Event()
output = threading.Lock()


class Kept:
    """Keeps the records that a logger emits."""

    def __init__(self):
        self.records = []

    def on_emit(self, record):
        self.records.append(record)

    def shutdown(self):
        pass

    def force_flush(self, timeout_millis=0):
        return True


def exporter():
    headers = {"x-sluice-pipeline-id": pipeline}
    if transport == "http":
        from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter

        return OTLPLogExporter(endpoint=f"http://{address}/v1/logs", headers=headers, timeout=timeout / 1000)
    from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter

    return OTLPLogExporter(endpoint=address, insecure=True, headers=tuple(headers.items()), timeout=timeout / 1000)


def batch(export):
    kept = Kept()
    provider = LoggerProvider()
    provider.add_log_record_processor(kept)
    logger = provider.get_logger("senders")
    attributes = {"sender": sender, "export": export, "text": "x" * 400}
    for _ in range(records):
        now = time.time_ns()
        logger.emit(
            LogRecord(timestamp=now, severity_number=SeverityNumber.INFO, body="a record", attributes=attributes)
        )
    return kept.records


def say(export, result):
    with output:
        print(export, result, flush=True)


def run(number):
    sends = exporter()
    count = 0
    while not stopping.is_set() and (exports == 0 or count < exports):
        export = f"{number}-{count}"
        try:
            result = sends.export(batch(export))
            say(export, "accepted" if result is LogRecordExportResult.SUCCESS else "refused")
        except Exception as error:  # pylint: disable=broad-except
            say(export, f"refused {type(error).__name__}: {error}".replace("\n", " "))
        count += 1
        stopping.wait(pause / 1000)


def stop_at_end_of_input():
    sys.stdin.read()
    stopping.set()


if exports == 0:
    threading.Thread(target=stop_at_end_of_input, daemon=True).start()
threads = [threading.Thread(target=run, args=(number,)) for number in range(exporters)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
