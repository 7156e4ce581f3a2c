import { advised } from "../src/actor/host/advised.ts";
import { runActors } from "../src/actor/threads/threads.ts";

export default advised(runActors);
