import { ATTACKS, type AttackTask } from "./attacks.ts";

/** Runs one attack in a separate process until that is killed. */
process.once("message", async (task: AttackTask) => {
  await ATTACKS[task.attack](task);
  process.send?.("begun");
});
