/**
 * Whether every case is tested: `npm run faults -- cases`. `npm test` leaves out those that are much like others of their
 * file, where each case costs a process or many queries.
 */
export const isEveryCase = process.env["CASES"] === "all";
