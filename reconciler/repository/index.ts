/** Pipelines as the files of a repository. */
export { foreignPipelines, sameId, type ForeignPipelines } from "./foreign-pipelines.ts";
export { repositoryFiles, type PlacedPipeline, type RepositoryFiles } from "./repository-files.ts";
export type { NamedSecret } from "./secret-names.ts";
