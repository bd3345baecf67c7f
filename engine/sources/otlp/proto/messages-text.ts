import { fileURLToPath } from "node:url";
import protobuf from "protobufjs";

/** The folder of the official .proto files; the paths in it are those that their imports use. */
const folder = new URL("./", import.meta.url);
const services = ["logs", "trace", "metrics"].map(
  (name) => `opentelemetry/proto/collector/${name}/v1/${name}_service.proto`,
);
const requests = ["logs.v1.ExportLogs", "trace.v1.ExportTrace", "metrics.v1.ExportMetrics"].map(
  (name) => `opentelemetry.proto.collector.${name}ServiceRequest`,
);

/** The official .proto files, read. */
export async function protoRoot(): Promise<protobuf.Root> {
  const root = new protobuf.Root();
  root.resolvePath = (_origin, target) => fileURLToPath(new URL(target, folder));
  return root.load(services);
}

/** The text of messages.json: the fields and the enums of all messages that the three requests may hold. */
export async function messagesText(): Promise<string> {
  const root = await protoRoot();
  const messages: Record<string, Record<string, unknown>> = {};
  const enums: Record<string, Record<string, number>> = {};
  const open = requests.map((name) => root.lookupType(name));
  for (let type = open.pop(); type !== undefined; type = open.pop()) {
    const fields: Record<string, unknown> = {};
    messages[nameOf(type)] = fields;
    for (const field of type.fieldsArray) {
      const { id, resolvedType, repeated } = field.resolve();
      const kind = resolvedType instanceof protobuf.Enum ? "enum" : resolvedType === null ? "scalar" : "message";
      const name = resolvedType === null ? field.type : nameOf(resolvedType);
      fields[field.name] = { id, [kind]: name, ...(repeated ? { repeated } : {}) };
      if (resolvedType instanceof protobuf.Enum) enums[name] = resolvedType.values;
      if (resolvedType instanceof protobuf.Type && messages[name] === undefined) open.push(resolvedType);
    }
  }
  return `${JSON.stringify({ messages, enums }, undefined, 2)}\n`;
}

/** The name without its package, such as `Span.Event`. */
function nameOf(object: protobuf.ReflectionObject): string {
  return object.fullName.replace(/^\.opentelemetry\.proto\.(collector\.)?\w+\.v1\./, "");
}
