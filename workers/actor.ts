export { runActors as default } from "../src/actor/threads.ts";
