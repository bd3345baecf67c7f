import { parentPort } from "node:worker_threads";
import { serve } from "../../../engine/language.ts";
import { answerPurely, type PureAnswer } from "./pure-call.ts";
import type { ToPure } from "./pure-calls.ts";

/** The entry of the thread that answers pure calls. It holds nothing. */
serve<ToPure, PureAnswer>(parentPort!, ({ path, bytes }) => ({ answer: answerPurely(path, Buffer.from(bytes)) }));
