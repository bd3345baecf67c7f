import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.logs.Logger;
import io.opentelemetry.api.logs.Severity;
import io.opentelemetry.exporter.otlp.http.logs.OtlpHttpLogRecordExporter;
import io.opentelemetry.exporter.otlp.logs.OtlpGrpcLogRecordExporter;
import io.opentelemetry.sdk.common.CompletableResultCode;
import io.opentelemetry.sdk.logs.SdkLoggerProvider;
import io.opentelemetry.sdk.logs.data.LogRecordData;
import io.opentelemetry.sdk.logs.export.LogRecordExporter;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** The exporters of the SDK for Java. README.md beside this folder says how it is called. */
public final class Sender {
  private static String transport;
  private static String address;
  private static String pipeline;
  private static String sender;
  private static int exports;
  private static int records;
  private static int pause;
  private static Duration timeout;
  private static volatile boolean stopping;

  public static void main(String[] arguments) throws Exception {
    transport = arguments[0];
    address = arguments[1];
    pipeline = arguments[2];
    sender = arguments[3];
    int exporters = Integer.parseInt(arguments[4]);
    exports = Integer.parseInt(arguments[5]);
    records = Integer.parseInt(arguments[6]);
    pause = Integer.parseInt(arguments[7]);
    timeout = Duration.ofMillis(Integer.parseInt(arguments[8]));
    if (exports == 0) stopAtEndOfInput();
    List<Thread> threads = new ArrayList<>();
    for (int number = 0; number < exporters; number++) {
      int own = number;
      Thread thread = new Thread(() -> run(own));
      thread.start();
      threads.add(thread);
    }
    for (Thread thread : threads) thread.join();
    // Threads of the client may go on.
    System.exit(0);
  }

  private static void stopAtEndOfInput() {
    Thread reader =
        new Thread(
            () -> {
              try {
                while (System.in.read() >= 0) {}
              } catch (IOException error) {
                // It has ended.
              }
              stopping = true;
            });
    reader.setDaemon(true);
    reader.start();
  }

  private static LogRecordExporter exporter() {
    if (transport.equals("http"))
      return OtlpHttpLogRecordExporter.builder()
          .setEndpoint("http://" + address + "/v1/logs")
          .addHeader("x-sluice-pipeline-id", pipeline)
          .setTimeout(timeout)
          .build();
    return OtlpGrpcLogRecordExporter.builder()
        .setEndpoint("http://" + address)
        .addHeader("x-sluice-pipeline-id", pipeline)
        .setTimeout(timeout)
        .build();
  }

  private static List<LogRecordData> batch(String export) {
    List<LogRecordData> kept = new ArrayList<>();
    SdkLoggerProvider provider =
        SdkLoggerProvider.builder()
            .addLogRecordProcessor((context, record) -> kept.add(record.toLogRecordData()))
            .build();
    Logger logger = provider.get("senders");
    Attributes attributes =
        Attributes.of(
            AttributeKey.stringKey("sender"), sender,
            AttributeKey.stringKey("export"), export,
            AttributeKey.stringKey("text"), "x".repeat(400));
    for (int record = 0; record < records; record++)
      logger.logRecordBuilder().setSeverity(Severity.INFO).setBody("a record").setAllAttributes(attributes).emit();
    return kept;
  }

  private static void run(int number) {
    LogRecordExporter sends = exporter();
    for (int count = 0; !stopping && (exports == 0 || count < exports); count++) {
      String export = number + "-" + count;
      CompletableResultCode result = sends.export(batch(export)).join(5, TimeUnit.MINUTES);
      Throwable failure = result.getFailureThrowable();
      String text = result.isSuccess() ? "accepted" : "refused " + (failure == null ? "" : failure);
      System.out.println(export + " " + text.replace('\n', ' '));
      try {
        Thread.sleep(pause);
      } catch (InterruptedException error) {
        return;
      }
    }
  }
}
