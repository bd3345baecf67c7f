/** The header that names the pipeline, and its aliases. The first of them that says anything counts. */
export const pipelineHeaders = ["x-sluice-pipeline-id", "x-service-pipeline-id", "x-glassflow-pipeline-id"] as const;

/** The pipeline that a request is for, its first one where several are named; undefined where none is. */
export function pipelineNamed(header: (name: string) => string | undefined): string | undefined {
  for (const name of pipelineHeaders) {
    // Both transports join headers of one name with commas, which no pipeline id has.
    const pipeline_id = header(name)?.split(",", 1)[0]?.trim();
    if (pipeline_id !== undefined && pipeline_id !== "") return pipeline_id;
  }
  return undefined;
}
