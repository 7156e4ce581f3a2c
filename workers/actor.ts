import { advised } from "../src/actor/advised.ts";
import { runActors } from "../src/actor/threads.ts";

export default advised(runActors);
