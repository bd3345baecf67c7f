import type { WebhookSourceConfig } from "../../../schemas/pipeline.ts";
import type { SourceKind } from "../../core/source-kind.ts";

/** Events that are posted over HTTP, one per request. A pipeline has one such source. */
export const webhook = {
  types: ["webhook"],
  receiver: "ingestor",
  isPushed: true,
  hasAccessToken: true,
  hasConsumerGroup: false,
  origin: undefined,
  fieldsOf: ({ schema_fields }) => schema_fields,
  declaredFieldsOf: ({ schema_fields }) => schema_fields,
  obstacleOf: () => undefined,
} as const satisfies SourceKind<WebhookSourceConfig>;
