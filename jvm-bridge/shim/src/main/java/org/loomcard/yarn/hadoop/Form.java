package org.loomcard.yarn.hadoop;

import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.util.Set;

/**
 * A call into YARN that has another form in some releases of Hadoop. The first form that is present
 * is used. The version is not looked at, as vendors bring methods of later releases back. A handle
 * in a static final field costs what a direct call costs.
 */
final class Form {
  private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
  private final MethodType type;
  private MethodHandle found;
  private String name;

  private Form(MethodType type) {
    this.type = type;
  }

  /**
   * Begins a call.
   *
   * @param result what the handle returns; Object for a method that returns nothing
   * @param arguments what the handle takes; a form with fewer parameters does not get the last ones
   */
  static Form of(Class<?> result, Class<?>... arguments) {
    return new Form(MethodType.methodType(result, arguments));
  }

  /** Returns the call of a method that some releases lack: there it does nothing, returns null. */
  static MethodHandle optional(Class<?> owner, String method, Class<?>... parameters) {
    return new Form(MethodType.methodType(Object.class, parameters).insertParameterTypes(0, owner))
        .method(owner, method, parameters).orNothing();
  }

  /** Returns whether {@code owner} declares such a method. */
  static boolean has(Class<?> owner, String method, Class<?>... parameters) {
    return of(Object.class).find(() -> owner.getDeclaredMethod(method, parameters)) != null;
  }

  /** The class of that name; null where this Hadoop has none. A form that names null is absent. */
  static Class<?> type(String name) {
    try {
      return Class.forName(name, false, Form.class.getClassLoader());
    } catch (ClassNotFoundException expected) {
      return null;
    }
  }

  /** Adds a method that {@code owner} declares; it need not be public. */
  Form method(Class<?> owner, String method, Class<?>... parameters) {
    return add(owner, method, () -> {
      Method declared = owner.getDeclaredMethod(method, parameters);
      declared.setAccessible(true);
      return LOOKUP.unreflect(declared);
    });
  }

  /** Adds a public constructor. */
  Form constructor(Class<?> owner, Class<?>... parameters) {
    return add(owner, "new", () -> LOOKUP.unreflectConstructor(owner.getConstructor(parameters)));
  }

  /** Adds a public method of what a field of {@code owner} holds. */
  Form through(Class<?> owner, String field, String method, Class<?>... parameters) {
    return add(owner, field, () -> {
      Field declared = owner.getDeclaredField(field);
      declared.setAccessible(true);
      return MethodHandles.filterArguments(
          LOOKUP.unreflect(declared.getType().getMethod(method, parameters)), 0,
          LOOKUP.unreflectGetter(declared));
    });
  }

  private Form add(Class<?> owner, String member, Call<MethodHandle> form) {
    name = owner == null ? member : owner.getSimpleName() + "." + member;
    if (owner != null && found == null) {
      MethodHandle handle = find(form);
      if (handle != null) {
        int taken = handle.type().parameterCount();
        found = MethodHandles.dropArguments(handle, taken,
            type.parameterList().subList(taken, type.parameterCount())).asType(type);
      }
    }
    return this;
  }

  private <T> T find(Call<T> form) {
    try {
      return form.run();
    } catch (NoSuchMethodException | NoSuchFieldException expected) {
      return null;
    } catch (Throwable e) {
      throw new IllegalStateException(name, e);
    }
  }

  /** Returns the call; where this Hadoop has no form of it, notes its name in {@code missing}. */
  MethodHandle get(Set<String> missing) {
    if (found == null) {
      missing.add(name);
    }
    return found;
  }

  /** Returns the call; where this Hadoop has no form of it, it does nothing and returns null. */
  MethodHandle orNothing() {
    return found != null ? found : MethodHandles.dropArguments(
        MethodHandles.constant(Object.class, null), 0, type.parameterList());
  }

  /** Calls a handle. What it throws passes unchanged. */
  static <T> T call(Call<T> call) {
    try {
      return call.run();
    } catch (Throwable e) {
      throw Form.<RuntimeException>unchecked(e);
    }
  }

  @SuppressWarnings("unchecked")
  private static <E extends Throwable> E unchecked(Throwable e) throws E {
    throw (E) e;
  }

  /** A call of a handle. */
  interface Call<T> {
    /** Makes the call. */
    T run() throws Throwable;
  }
}
