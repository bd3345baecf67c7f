/** The open resources of a process. They are closed in the opposite order, each of them even if another one fails. */
export class ResourceStack {
  readonly #opened: { close(): Promise<void> }[] = [];

  add<Resource extends { close(): Promise<void> }>(resource: Resource): Resource {
    this.#opened.push(resource);
    return resource;
  }

  /** Throws the first error, after all resources were closed. */
  async close(): Promise<void> {
    const failures: unknown[] = [];
    for (let resource = this.#opened.pop(); resource !== undefined; resource = this.#opened.pop()) {
      await resource.close().catch((error: unknown) => failures.push(error));
    }
    if (failures.length > 0) throw failures[0];
  }
}
