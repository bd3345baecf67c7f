import { isObject, type Path } from "../../schemas/index.ts";

/** A field of a v2 document, with its value. Version v2 makes no difference between missing, null, empty and zero. */
export class Field {
  readonly path: Path;
  readonly value: unknown;

  constructor(path: Path, value: unknown) {
    this.path = path;
    this.value = value;
  }

  get(...keys: string[]): Field {
    const [key, ...rest] = keys;
    if (key === undefined) return this;
    const { value } = this;
    const held = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    return new Field([...this.path, key], held).get(...rest);
  }

  /** Entries of a list; none if it is no list. */
  items(): Field[] {
    if (!Array.isArray(this.value)) return [];
    return this.value.map((item, index) => new Field([...this.path, index], item));
  }

  /** Keys of a mapping in the order of the file; none if it is no mapping. */
  keys(): string[] {
    return isObject(this.value) ? Object.keys(this.value) : [];
  }

  get exists(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  /** The text; empty if there is none. */
  get text(): string {
    return typeof this.value === "string" ? this.value : "";
  }

  get isOn(): boolean {
    return this.value === true;
  }

  /** Whether it holds a value that is not zero; for a collection, whether it exists. */
  get isGiven(): boolean {
    return Boolean(this.value);
  }
}
