/** The steps of an insert at which a ClickHouse server is killed: it has taken nothing of it, or the rows, unanswered. */
export const serverSteps = ["before its rows", "before its answer"] as const;

export type ServerStep = (typeof serverSteps)[number];
