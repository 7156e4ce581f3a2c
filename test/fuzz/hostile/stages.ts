import type { FuzzStage } from "../stage.ts";
import { BYTES } from "./bytes.ts";
import { CREDENTIALS } from "./credentials.ts";
import { FRAMES } from "./frames.ts";
import { BODIES, TARGETS } from "./requests.ts";
import { IDLE, STALLED } from "./stuck-clients.ts";

/** Hostile input, by its place in the request: more than 100,000 inputs. */
export const HOSTILE_STAGES: readonly FuzzStage[] = [BODIES, TARGETS, CREDENTIALS, BYTES, FRAMES];

/** Clients that do not read, or do not send. */
export const CLIENT_STAGES: readonly FuzzStage[] = [STALLED, IDLE];
