/** A failure that is printed as one sentence, without a stack. The command ends with exit code 1. */
export class CliError extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = new.target.name;
  }
}
