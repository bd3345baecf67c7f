import { isObject, type Path } from "../../schemas/index.ts";
import type { Document } from "./document.ts";
import { problem, type Finding, type Problem } from "./problem.ts";

/** The schema refuses more entries, so rules read no further. */
const mostSources = 100;
const mostTransforms = 200;

/** Also in a spelling that is not resolved, of which another rule speaks. `$${` stands for a plain `${`. */
const reference = /\$\{(?:(?:env|file|var):[^}]*|[A-Za-z_]\w*)\}/;

/**
 * A part of a document of any shape: rules read it even if it breaks the schema, and find no value where one is missing
 * or of a wrong kind. So both layers report in one run.
 */
export class View {
  readonly document: Document;
  readonly path: Path;
  readonly value: unknown;

  private constructor(document: Document, path: Path, value: unknown) {
    this.document = document;
    this.path = path;
    this.value = value;
  }

  static of(document: Document): View {
    return new View(document, [], document.value);
  }

  get(...keys: string[]): View {
    let { value } = this;
    for (const key of keys) value = isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    return new View(this.document, [...this.path, ...keys], value);
  }

  /** Entries of a list, at most `most`; none if it is not a list. */
  items(most?: number): View[] {
    if (!Array.isArray(this.value)) return [];
    return this.value.slice(0, most).map((item, index) => new View(this.document, [...this.path, index], item));
  }

  /** The sources of a document; all of them, as far as a pipeline may have so many. */
  sources(type?: string): View[] {
    const sources = this.get("sources").items(mostSources);
    return type === undefined ? sources : sources.filter((source) => source.get("type").text === type);
  }

  /** The transforms of a document, likewise. */
  transforms(type?: string): View[] {
    const transforms = this.get("transforms").items(mostTransforms);
    return type === undefined ? transforms : transforms.filter((transform) => transform.get("type").text === type);
  }

  /** Members of a mapping; none if it is not a mapping. */
  members(): View[] {
    return isObject(this.value) ? Object.keys(this.value).map((key) => this.get(key)) : [];
  }

  get exists(): boolean {
    return this.value !== undefined && this.value !== null;
  }

  /** Whether the text holds a reference such as `${env:NAME}`, so that its value is not known before it is used. */
  get isReference(): boolean {
    return reference.test(this.text?.replaceAll("$${", "") ?? "");
  }

  /** The text; undefined for another kind of value. */
  get text(): string | undefined {
    return typeof this.value === "string" ? this.value : undefined;
  }

  get isBlank(): boolean {
    return this.text === undefined || this.text.trim() === "";
  }

  /** A problem with this value, at its place. */
  problem(code: Problem["code"], finding: Omit<Finding, "path">): Problem {
    return problem(code, this.document.place(this.path), { ...finding, path: this.path });
  }

  /** A problem with this text from its character `offset` on. */
  problemInside(offset: number, code: Problem["code"], finding: Omit<Finding, "path">): Problem {
    return problem(code, this.document.placeInside(this.path, offset), { ...finding, path: this.path });
  }
}

/** A rule: it reads a document and yields its problems. */
export type Rule = (document: View) => Iterable<Problem>;
