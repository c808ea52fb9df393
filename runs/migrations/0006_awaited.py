from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("runs", "0005_language")]

    operations = [
        migrations.RenameField(model_name="step", old_name="open_branches", new_name="awaited"),
        migrations.AlterField(
            model_name="step",
            name="awaited",
            field=models.IntegerField(
                default=0, help_text="How many branches, runs or people it waits for, holding no worker."
            ),
        ),
    ]
