import { advised } from "../src/actor/host/advised.ts";
import { runStore } from "../src/actor/threads/threads.ts";

export default advised(runStore);
