import { SourceRecorder } from "./source-recorder.ts";
import type { Telemetry, Told } from "./telemetry.ts";

/** What is told of pushed events: requests, what was stored of them, and when no more was taken. */
export class IntakeRecorder
  extends SourceRecorder
  implements Pick<Telemetry, "eventAccepted" | "eventRefused" | "exportAnswered" | "backpressure">
{
  eventAccepted({ pipeline_id, bytes }: Told<"eventAccepted">): void {
    this.metrics.requests.inc({ pipeline_id, status: "202" });
    this.metrics.bytesProcessed.inc({ pipeline_id, component: "ingestor", direction: "out" }, bytes);
  }

  eventRefused({ pipeline_id, status }: Told<"eventRefused">): void {
    this.metrics.requests.inc({ pipeline_id, status: String(status) });
  }

  exportAnswered(event: Told<"exportAnswered">): void {
    const { pipeline_id, signal, transport, refusal, bytesIn, bytesOut, records } = event;
    const component = `otlp.${signal}`;
    const labels = { pipeline_id, component, transport, status: refusal === undefined ? "ok" : "error" };
    this.metrics.receiverRequests.inc(labels);
    this.metrics.receiverRequestsAlias.inc(labels);
    this.metrics.receiverDuration.observe(labels, event.seconds);
    if (refusal !== undefined) {
      this.metrics.receiverRefusals.inc({ pipeline_id, component, transport, reason: refusal });
    }
    if (bytesIn > 0) this.metrics.bytesProcessed.inc({ pipeline_id, component, direction: "in" }, bytesIn);
    if (records === 0) return;
    this.metrics.bytesProcessed.inc({ pipeline_id, component, direction: "out" }, bytesOut);
    this.metrics.processorMessages.inc({ pipeline_id, component, status: "out" }, records);
  }

  backpressure({ pipeline_id, component = "ingestor", active, seconds }: Told<"backpressure">): void {
    const labels = { pipeline_id, component };
    const isIngestor = component === "ingestor";
    this.metrics.backpressureActive.set(labels, active ? 1 : 0);
    if (isIngestor) this.metrics.ingestorActive.set({ pipeline_id }, active ? 1 : 0);
    if (active) {
      this.metrics.backpressureEvents.inc(labels);
      if (isIngestor) this.metrics.ingestorEvents.inc({ pipeline_id });
      this.log.warn({ pipeline_id }, "Back-pressure: the sink takes less than comes, and no more is taken in.");
    } else {
      this.metrics.backpressureDuration.observe(labels, seconds);
      if (isIngestor) this.metrics.ingestorDuration.observe({ pipeline_id }, seconds);
      this.log.info({ pipeline_id, seconds }, "Back-pressure is over.");
    }
  }
}
