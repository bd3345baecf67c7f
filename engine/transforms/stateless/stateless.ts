import { basicType } from "../../../schemas/pipeline.ts";
import type { SchemaField, TransformConfig } from "../../../schemas/pipeline.ts";
import type { Event } from "../../event/event.ts";
import { FieldPick } from "../../event/fields.ts";
import type { BatchContext, FedField, Transform, TransformResult, TransformTools } from "../../core/transform.ts";
import { compileTransforms, namesRead } from "../../expression/index.ts";
import type { TransformExpression, Transforms } from "../../expression/index.ts";
import { evaluateEach } from "../../expression/evaluation.ts";

type StatelessConfig = Extract<TransformConfig, { type: "stateless" }>;

/** Throws ExpressionError if an expression does not fit the fields. */
export function createStateless({ config }: StatelessConfig, { fields }: TransformTools): StatelessTransform {
  return new StatelessTransform(config.transforms, fields);
}

/**
 * Replaces each event by a new one that holds the outputs of its expressions and nothing else (docs/pipelines.md,
 * Stateless). If an expression fails, the whole event is rejected, with its original text.
 */
export class StatelessTransform implements Transform {
  readonly name = "stateless";
  /** The fields of the output, which the sink gets. */
  readonly outputs: readonly FedField[];
  readonly reads: readonly string[];
  readonly #transforms: Transforms;
  readonly #fields: FieldPick;

  /** `fields` are those of the transformed source. Throws ExpressionError if an expression does not fit them. */
  constructor(list: readonly TransformExpression[], fields: readonly SchemaField[]) {
    this.#transforms = compileTransforms(list, fields);
    const names = namesRead(list.map(({ expression }) => expression));
    this.reads = names ?? [];
    this.#fields = new FieldPick(names);
    const types = new Map(list.map(({ output_name, output_type }) => [output_name, basicType(output_type)]));
    const { nilable } = this.#transforms;
    this.outputs = [...types].map(([name, type]) => ({ name, type, required: false, mayBeNull: nilable.has(name) }));
  }

  apply(events: readonly Event[], { clock }: BatchContext): TransformResult {
    const passed: Event[] = [];
    const rejected = evaluateEach("stateless", events, this.#fields, (event, record) => {
      passed.push(event.with(this.#transforms.apply(record, clock)));
    });
    return { passed, dropped: 0, rejected };
  }
}
