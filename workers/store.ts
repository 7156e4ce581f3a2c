import { advised } from "../src/actor/advised.ts";
import { runStore } from "../src/actor/threads.ts";

export default advised(runStore);
