/** A failure that is printed as one sentence, without a stack. The command ends with `exitCode`. */
export class CliError extends Error {
  readonly exitCode: 1 | 3;

  constructor(message: string, { exitCode = 1, ...options }: { cause?: unknown; exitCode?: 1 | 3 } = {}) {
    super(message, options);
    this.exitCode = exitCode;
    this.name = new.target.name;
  }
}
