export { runJournal as default } from "../src/actor/threads.ts";
