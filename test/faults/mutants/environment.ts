/** The variable of the environment that holds the number of the mutant that is switched on. */
export const switchVariable = "FAULTS_MUTANT";

/** The variable that lists test files, separated by spaces. */
export const filesVariable = "FAULTS_TESTS";

/** The variable that names the file for what tests come to: one `Reach` in JSON for each test file, on a line of its own. */
export const reachVariable = "FAULTS_REACHED";

/** What a test file comes to. */
export interface Reach {
  file: string;
  /** The numbers of mutants. */
  mutants: number[];
}
