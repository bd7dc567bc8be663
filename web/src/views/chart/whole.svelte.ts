// Charts that draw only what is in view draw all of it while a picture is taken.
import { tick } from 'svelte';

class Whole {
  isWanted = $state(false);

  // Runs `take` while every chart is drawn as a whole.
  async during<T>(take: () => T | Promise<T>): Promise<T> {
    this.isWanted = true;
    try {
      await tick();
      return await take();
    } finally {
      this.isWanted = false;
    }
  }
}

export const whole = new Whole();
