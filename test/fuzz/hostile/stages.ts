import type { Stage } from "../stage.ts";
import { BYTES } from "./bytes.ts";
import { IDLE, STALLED } from "./clients.ts";
import { CREDENTIALS } from "./credentials.ts";
import { FRAMES } from "./frames.ts";
import { BODIES, TARGETS } from "./requests.ts";

/** Hostile input, by where it is put: more than 100,000 inputs in all. */
export const HOSTILE_STAGES: readonly Stage[] = [BODIES, TARGETS, CREDENTIALS, BYTES, FRAMES];

/** Clients that do not read, or do not speak. */
export const CLIENT_STAGES: readonly Stage[] = [STALLED, IDLE];
