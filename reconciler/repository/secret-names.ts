import {
  isSecret,
  normalise,
  readReference,
  replacingTexts,
  type Server,
  serversGetting,
  withoutRoot,
  type Path,
  type PipelineConfig,
  type PipelineV3,
} from "../../schemas/index.ts";
import { pathText } from "../language/problem.ts";

/** A secret that files refer to, and that has to be set where they run. */
export interface NamedSecret {
  /** Of a variable of the environment. */
  name: string;
  /** Who gets it; none for a token that senders show. */
  hosts: string[];
  username?: string;
  fields: { pipeline_id: string; path: string }[];
}

/** Variables that pipelines may use without a setting of the operator. */
const prefix = "SLUICE_SECRET_";

/**
 * Names for the secrets of pipelines that were given in plain text, or hidden. What one user has at one server is one
 * secret in all pipelines.
 */
export class SecretNames {
  readonly #known = new Map<string, NamedSecret>();
  readonly #taken = new Set<string>();

  get all(): NamedSecret[] {
    return [...this.#known.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** The document with a reference for each of its secrets. References stay, and so does the password of nobody. */
  replacing(document: PipelineV3): PipelineV3 {
    const config = normalise(document);
    return replacingTexts(document, (text, path) => {
      if (!isSecret(path)) return path.at(-1) === "url" ? withoutUser(text) : text;
      if (text === "" || readReference(text) !== undefined) return text;
      return `\${env:${this.#nameFor(config, path, text)}}`;
    }) as PipelineV3;
  }

  #nameFor(config: PipelineConfig, path: Path, text: string): string {
    const { pipeline_id } = config;
    const isToken = path[0] === "x-sluice";
    const hosts = isToken ? [] : serversGetting(config, path).map(hostOf);
    const username = isToken ? undefined : userOf(config, path);
    const owner = isToken ? pipeline_id : username;
    const identity = JSON.stringify([hosts.toSorted(), owner, path.at(-1), text]);
    const known = this.#known.get(identity) ?? {
      name: this.#free([kindOf(path), owner, partOf(path)]),
      hosts,
      ...(username !== undefined && { username }),
      fields: [],
    };
    this.#known.set(identity, known);
    known.fields.push({ pipeline_id, path: pathText(path) });
    return known.name;
  }

  /** A name of these words that no other secret has. */
  #free(words: readonly (string | undefined)[]): string {
    const base = words.filter((word) => word !== undefined && word !== "").join("_");
    const name = `${prefix}${base
      .toUpperCase()
      .replaceAll(/[^A-Z0-9]+/g, "_")
      .slice(0, 60)}`;
    for (let count = 1; ; count += 1) {
      const candidate = count === 1 ? name : `${name}_${count}`;
      if (this.#taken.has(candidate)) continue;
      this.#taken.add(candidate);
      return candidate;
    }
  }
}

/** Without the port. */
function hostOf(server: Server): string {
  return server.kind === "host" ? withoutRoot(server.host) : server.text;
}

function kindOf([part, _index, group]: Path): string {
  if (part === "sink") return "clickhouse";
  if (part === "x-sluice") return "token";
  return group === "schema_registry" ? "registry" : "kafka";
}

/** The field, where it is not the password that everybody expects. */
function partOf(path: Path): string | undefined {
  const field = String(path.at(-1));
  return field === "password" || field === "access_token" ? undefined : field;
}

function userOf({ sources, sink }: PipelineConfig, [part, index]: Path): string | undefined {
  if (part === "sink") return sink.connection_params.username;
  const source = sources[Number(index)];
  return source?.type === "kafka" ? source.connection_params.username : undefined;
}

/** A URL without the user and the password that it may hold. */
function withoutUser(url: string): string {
  return url.replace(/(:\/\/)[^\s/?#@]*@/, "$1");
}
