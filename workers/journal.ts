import { advised } from "../src/actor/advised.ts";
import { runJournal } from "../src/actor/threads.ts";

export default advised(runJournal);
