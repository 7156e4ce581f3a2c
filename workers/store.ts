export { runStore as default } from "../src/actor/threads.ts";
