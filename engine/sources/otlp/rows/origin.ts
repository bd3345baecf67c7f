import type { AnyValues } from "./any-values.ts";
import { Fields } from "./fields.ts";
import { JsonBytes } from "./json-bytes.ts";
import type { Wire } from "./wire.ts";

const resourceKey = Buffer.from(',"resource_attributes":');
const nameKey = Buffer.from(',"scope_name":');
const versionKey = Buffer.from(',"scope_version":');
const attributesKey = Buffer.from(',"scope_attributes":');

/** What the rows of one scope share, as the JSON members that each of them has. It is made once. */
export class Origin {
  members: Buffer = Buffer.alloc(0);
  readonly #json = new JsonBytes(1024);
  readonly #wire: Wire;
  readonly #values: AnyValues;
  readonly #resource = new Fields({ fields: { 1: "message", 2: "varint" } });
  readonly #scope = new Fields({ fields: { 1: "text", 2: "text", 3: "message", 4: "varint" } });
  /** Where the members of the resource end. */
  #resourceEnd = 0;

  constructor(wire: Wire, values: AnyValues) {
    this.#wire = wire;
    this.#values = values;
  }

  /** Turns to the resource of a message that holds it at `depth` as parts 1. Its scope has to follow. */
  turnToResource(of: Fields, depth: number): void {
    this.#resource.readParts(this.#wire, of, 1, depth);
    this.#json.length = 0;
    this.#json.put(resourceKey);
    this.#values.attributes(this.#json, this.#resource, 1, depth + 1);
    this.#resourceEnd = this.#json.length;
  }

  /** Turns to the scope of a message that holds it at `depth` as parts 1. */
  turnToScope(of: Fields, depth: number): void {
    const json = this.#json;
    const scope = this.#scope;
    const { bytes } = this.#wire;
    scope.readParts(this.#wire, of, 1, depth);
    json.length = this.#resourceEnd;
    json.put(nameKey);
    json.text(bytes, scope.start(1), scope.end(1));
    if (scope.end(2) > scope.start(2)) {
      json.put(versionKey);
      json.text(bytes, scope.start(2), scope.end(2));
    }
    json.put(attributesKey);
    this.#values.attributes(json, scope, 3, depth + 1);
    this.members = json.written();
  }
}
