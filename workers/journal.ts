import { advised } from "../src/actor/host/advised.ts";
import { runJournal } from "../src/actor/threads/threads.ts";

export default advised(runJournal);
